import { Producer, ProduceAcks } from '@platformatic/kafka'

async function shop (idempotent, orders) {
  const producer = new Producer({
    clientId: 'shop', bootstrapBrokers: [process.argv[2]], idempotent,
    acks: ProduceAcks.ALL, autocreateTopics: true
  })
  const send = order => producer.send({
    messages: [{ topic: 'orders', partition: 0, value: Buffer.from(order) }]
  })
  const sent = await Promise.all(orders.map(send))  // all at once
  await producer.close()
  return sent.map(each => Number(each.offsets[0].offset))
}

const orders = Array.from({ length: 20 }, (_, number) => `order ${number + 1}`)
const [before] = await shop(false, ['first'])
const offsets = await shop(true, orders)
const [after] = await shop(false, ['last'])
console.log('acknowledged:', offsets.length, 'at offsets', offsets.join(' '))
console.log('written:', after - before - 1)
