"""Runs a WebAssembly program: wasi.py PROGRAM. Its output is this one's, and its exit status."""

import sys

import wasmtime

config = wasmtime.WasiConfig()
config.argv = [sys.argv[1]]
config.inherit_stdout()
config.inherit_stderr()
engine = wasmtime.Engine()
store = wasmtime.Store(engine)
store.set_wasi(config)
linker = wasmtime.Linker(engine)
linker.define_wasi()
instance = linker.instantiate(store, wasmtime.Module.from_file(engine, sys.argv[1]))
try:
    instance.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
