// A producer and a member of a group on franz-go: `go run . HOST:PORT`.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	seeds := kgo.SeedBrokers(os.Args[1])

	shop, err := kgo.NewClient(seeds, kgo.ClientID("shop"))
	must(err)
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "orders", 2, 1
	create := kmsg.NewCreateTopicsRequest()
	create.Topics = append(create.Topics, topic)
	_, err = create.RequestWith(ctx, shop)
	must(err)
	for _, customer := range []string{"alice", "bob", "carol"} {
		order := &kgo.Record{Topic: "orders", Key: []byte(customer), Value: []byte("order of " + customer)}
		must(shop.ProduceSync(ctx, order).FirstErr())
	}
	shop.Close()

	billing, err := kgo.NewClient(seeds, kgo.ClientID("billing"), kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
	must(err)
	for read := 0; read < 3; {
		fetches := billing.PollFetches(ctx)
		must(fetches.Err())
		read += fetches.NumRecords()
	}
	must(billing.CommitUncommittedOffsets(ctx))
	billing.Close()
}
