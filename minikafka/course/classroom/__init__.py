"""A class: learners who want their teacher to see how far they are, and `minikafka
class`, which shows it live.

It is a Kafka program like those of the lessons. Each learner's kernel writes what is
done in a lesson to the topic `minikafka-class`; the teacher's side reads the whole
topic, and for a key only its latest record counts.
"""
