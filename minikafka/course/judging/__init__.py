"""Whether an answer to an exercise is right.

`notebooks/checks/lesson_NN.py` says what must hold; this room tries the learner's
answer on it. checks.py runs named edge cases first, then random ones from a seed, and
shows the smallest that breaks the answer (shrinking.py); verdicts.py has the texts that
the learner reads.

The answer is the learner's program, so it never runs unprotected: guard.py gives it
copies and notices changes to them, watchdog.py ends it if it runs forever, child.py
ends it where not even that helps, another_process.py runs it where `hash()` gives other
numbers, memory.py resets a class, mistaken_keys.py says how a key was treated that
isn't one. The rest are worlds to put an answer into: a consumer group as data
(group_cases.py, subscriptions.py), a log to compare with (kafkas_log.py), a program
that is killed at each of its calls (killed_programs.py; killed_sinks.py where it writes
to a database), what `--describe` prints (described_topics.py), a query's progress
report (progress_reports.py), the offsets that a source is given (source_offsets.py),
Spark's micro-batches without Spark (micro_batches.py), the same work on three tools
(tool_runs.py, tool_readers.py).

A Kafka that a learner has written (lesson 23) is a process of its own
(learners_kafka.py): a trial of it (kafka_trial.py) follows scripts (kafka_scripts.py,
kafka_restarts.py, kafka_group_scripts.py), made of requests (kafka_requests.py) and
real clients (kafka_clients.py), and the conversation (conversation.py) is compared with
rules (kafka_rules.py, kafka_group_rules.py, kafka_answers.py).
"""
