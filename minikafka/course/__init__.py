"""The course: everything that a notebook needs besides minikafka itself.

Where a cell's call leads, by what one types:

    lesson("05").check(1, answer)        lessons.py, judging/; what must hold: notebooks/checks/
    .hint, .exit_ticket, .claims         lessons.py
    predict                              predictions.py
    progress                             progress.py
    connect                              connect.py: which Kafka a lesson's real clients talk to
    a lesson's own runs and answers      experiments/lesson_NN_runs.py, and others of that number
    levers: pictures that one changes    levers/
    on_call                              on_call/: lesson 22's nights, its tools, its incidents
    session, Lab, KafkaSource            spark.py, kafka_source.py
    dataset                              data.py
    minikafka doctor, lesson, demo,      doctor.py, editions.py, demo.py,
    lab, class, error, pipeline          lab.py, classroom.py, errors.py, pipeline/

Behind them are seven rooms, each with one idea:

    experiments/  what each lesson runs and reads, in files by the lesson's number
    judging/      whether an answer is right: cases, guards, watchdogs, verdicts
    levers/       pictures with controls: a change runs the same calls again
    on_call/      a night on call: brokers, programs, tools and a monitoring system
    publishing/   the lessons as something to look at: site, gallery, pictures
    clusters/     real Kafka clusters: those of docker/compose.yaml, and who answers
    pipeline/     `minikafka pipeline`: a shop from Kafka through Spark to Parquet

What several of these read: contents.py (the parts of a notebook), places.py (where
files are), cards.py (how a verdict looks), measured.py (Kafka's own numbers of a
cluster); claims.py, client_defaults.py and settings_by_role.py read the ledgers beside
the notebooks.

The course may import everything else of minikafka, and nothing imports the course.
"""
