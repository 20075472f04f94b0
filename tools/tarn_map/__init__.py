"""tarn-map: the state of each block of a pool, as a picture and as a page."""
