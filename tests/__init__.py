"""The tests. CONTRIBUTING says how to run them, and which run when.

Folders that test the room of minikafka/ with the same name:

    wire, storage, cluster, coordinators, broker, server, simulation, testing, theatre, course,
    watching
    clients_sim   minikafka/clients, the simulated clients

Folders that test all of it from outside:

    clients       other people's clients: Java's, librdkafka, kafka-python, aiokafka, Connect, Streams
    conformance   the same questions to minikafka and to Apache Kafka, field by field
    sessions      what real clients sent, byte for byte, played again; capture.py records them
    transcripts   what nodes say to each other in a scenario, as text to compare
    soak          hostile hours: fuzzing, kill -9, random schedules of faults, damaged disks
    notebooks     the lessons: pattern, glossary, stored outputs
    browser       the site and JupyterLab in Chromium
    spark, docker, datasets    what their names say
    house         imports, packaging, commands, pages, environments
    bench         no tests: `make bench`, speed beside Apache Kafka; walks.py counts calls

In a folder, `test_*.py` are tests, and the docstrings of other files say what they help
with. A few helpers stand in the test file that needs them most; others import them there.
A name on both sides is no accident: `transaction_schedules.py` makes random schedules,
`test_transaction_schedules.py` runs three of them, and `soak/transactions.py` thousands.

Helpers for several folders, in this one:

    kafka.py       Apache Kafka, the oracle: jars, tools, a broker
    recording.py   its answers, kept in recordings/, so that only the night asks it
    metrics.py     what a broker's metrics say, read as Prometheus reads them
    rabbitmq.py    RabbitMQ, the oracle of the model queue
    chromium.py    the browser
    seeds.py       how many seeds a random test has in each tier
    conftest.py    marks, and what is skipped where something is missing
    pom.xml        the jars that `make test` fetches
    class_archive.py, no_grammar.py    quicker starts: of JVMs, of Pythons
    learners.py    environments as learners have them
    collected.py   what pytest collects, as data: for claims and for the conformance matrix
    times.py       wall and CPU time of each folder, at the end of a run
    work.py        work of a request, as calls of functions
    mutants.py     breaks a rule of mutants.toml: does a test notice?
    measure.py     `make measure`: how large each room is
"""
