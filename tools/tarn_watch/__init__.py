"""What tools/tarn-top and tools/tarn-prometheus share: asking a program at its socket."""
