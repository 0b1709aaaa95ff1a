"""Development set-up: proving keys from a constraint system, with secrets that one machine knows."""
