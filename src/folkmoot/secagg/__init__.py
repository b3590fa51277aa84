"""Secure aggregation: the server learns the sum and nothing else. No network, no files, no clock."""
