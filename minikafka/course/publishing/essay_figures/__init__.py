"""The essay's figures: a file each, all of them made of what frame.py has. A figure is
drawn from the traces of its case's runs, and shows nothing else.
"""
