"""What is known of real data, as tests that `make bench` runs; where data is missing they are skipped and say so."""
