"""What five clients that others wrote say to a broker, byte by byte, and what it
answers: files that one can read, decoded by our schema and played again.
"""
