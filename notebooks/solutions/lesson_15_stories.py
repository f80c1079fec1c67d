"""Lesson 15, queue or log: a solution of exercise 2."""

# %% exercise 2
# Where two tools hold, the one that asks less of you.
my_tools = {
    "thumbnails": "queue",  # or a share group: any worker that is free
    "transfers": "consumer group",  # the key chooses a partition, with one reader
    "emails": "share group",  # or a queue: a share group counts the deliveries itself
    "audit": "consumer group",  # or share groups: the log is still there
    "reprocessing": "share group",  # the log again, and more workers than partitions
    "prices": "queue",  # an exclusive queue comes and goes with its caller
    "retries": "queue",  # or a consumer group with a retry topic
    "clicks": "consumer group",  # all clicks of a user come to one worker
}
