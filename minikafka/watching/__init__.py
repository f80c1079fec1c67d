"""`minikafka watch`: a page that shows a running Kafka live, minikafka or Apache Kafka.

    a cluster -> Seen     asking.py      as any client may ask: Metadata, ListGroups, ...
    a trace   -> Seen     following.py   folds the file that `serve --trace` writes
    Seen      -> Watched  watched.py     what came before: who is away, which lag grows
    Watched   -> words    problems.py    what somebody should know, worst first
    Watched   -> shapes   drawing.py     boxes of the theatre, for any width
    all of it -> a page   page.py        which asks server.py for news, once a second

seen.py is the data between them. command.py puts the parts together.
"""
