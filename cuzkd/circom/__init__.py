"""What circom's circuits take and how their witness programs are run: inputs, `.wasm`, limits, a compiled cache."""
