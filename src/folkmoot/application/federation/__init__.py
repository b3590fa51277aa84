"""Parties that keep their data at home: what they agree on, what each answers, and runs over a network."""
