"""What everything stands on: sets, inputs, errors, kernels, coins."""
