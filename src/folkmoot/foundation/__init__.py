"""What every other package builds on: sets and arrays, checked inputs, errors, kernels, settings."""
