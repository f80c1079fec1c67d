# A broker for tests: `minikafka serve` and nothing else. Its data is in memory where it is given faults.
FROM python:3.12-slim-bookworm

RUN useradd --create-home --uid 1000 kafka
WORKDIR /minikafka
COPY pyproject.toml README.md LICENSE ./
COPY datasets datasets
COPY docker docker
COPY notebooks notebooks
COPY minikafka minikafka
RUN pip install --no-cache-dir .

USER 1000
EXPOSE 9092
# Clients on the machine that runs the container come by its published port.
ENTRYPOINT ["minikafka", "serve", "--host", "0.0.0.0", "--advertised-host", "localhost"]
