"""`minikafka pipeline`: a shop's orders from Kafka through Spark to Parquet and back.

command.py is what one types: it makes topics, produces, starts the job, kills it
where asked to, and shows what came of it. job.py is the Spark job alone, which may be
killed at any moment and started again. truth.py says in plain Python, without Kafka
and Spark, what the pipeline must lead to.
"""
