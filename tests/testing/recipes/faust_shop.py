"""A Faust app with one agent, which writes a bill for each order: BOOTSTRAP is where its
Kafka is, as kafka://HOST:PORT;HOST:PORT, ORDERS and BILLS are its topics.

    python faust_shop.py --datadir FOLDER worker --without-web
"""

import os

import faust

app = faust.App(
    "shop",
    broker=os.environ["BOOTSTRAP"],
    value_serializer="raw",
    topic_disable_leader=True,
)
orders = app.topic(os.environ["ORDERS"], value_type=bytes)
bills = app.topic(os.environ["BILLS"], value_type=bytes)


@app.agent(orders)
async def bill(stream):
    async for order in stream:
        await bills.send(value=order.replace(b"order", b"bill"))


if __name__ == "__main__":
    app.main()
