"""Whether an answer to an exercise is right.

`notebooks/checks/lesson_NN.py` says what must hold; this room tries the learner's
answer on it. checks.py runs named edge cases first, then random ones from a seed, and
shows the smallest that breaks the answer (shrinking.py); verdicts.py is what the
learner reads.

The answer is somebody else's program, so it never runs bare: guard.py hands it copies
and notices what it changes, watchdog.py ends it when it goes on for ever, child.py
where not even that can, another_process.py runs it where `hash()` gives other numbers,
memory.py lets a class forget, mistaken_keys.py says what was made of a key that is
none. The rest are worlds to put an answer into: a consumer group as data
(group_cases.py, subscriptions.py), a log to compare with (kafkas_log.py), a program
that is killed at each of its calls (killed_programs.py; killed_sinks.py where it writes
to a database), what `--describe` prints (described_topics.py), a query's progress
report (progress_reports.py), the offsets that a source is given (source_offsets.py),
Spark's micro-batches without Spark (micro_batches.py), the same work on three tools
(tool_runs.py, tool_readers.py).

A Kafka that somebody has written (lesson 23) is a process of its own
(somebodys_kafka.py): a trial of it (kafka_trial.py) follows scripts
(kafka_scripts.py, kafka_restarts.py, kafka_group_scripts.py), made of requests
(kafka_requests.py) and real clients (kafka_clients.py), and what is said
(conversation.py) is held against rules (kafka_rules.py, kafka_group_rules.py,
kafka_answers.py).
"""
