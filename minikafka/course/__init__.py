"""The course: predictions, checks, verdicts, editions, the claims ledger, the cluster switch, the doctor."""
