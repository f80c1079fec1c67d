"""The course: everything that a notebook needs besides minikafka itself.

A lesson's cells stay short because their helpers live here. The names that a learner
types are at the top of the room: the lessons (lessons.py, predictions.py, progress.py),
the cluster switch (connect.py), the Spark session (spark.py, kafka_source.py), the data
sets (data.py), and the commands (doctor.py, editions.py, demo.py, classroom.py).
contents.py reads the parts of a notebook; claims.py and client_defaults.py read the
ledgers beside the notebooks.

Behind them are six rooms, each with one idea:

    experiments/  what each lesson runs and reads, in files by the lesson's number
    judging/      whether an answer is right: cases, guards, watchdogs, verdicts
    levers/       pictures with controls: a change runs the same calls again
    publishing/   the lessons as something to look at: site, gallery, pictures
    clusters/     real Kafka clusters: those of docker/compose.yaml, and who answers
    pipeline/     `minikafka pipeline`: a shop from Kafka through Spark to Parquet

The course may import everything else of minikafka, and nothing imports the course.
"""
