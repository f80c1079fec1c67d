// How soon franz-go's kfake is there, and what a topic and a broker cost: a line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const times = 20

func main() {
	before := residentMegabytes()
	start := median(func() {
		cluster := must(kfake.NewCluster(kfake.NumBrokers(1)))
		cluster.Close()
	})
	cluster := must(kfake.NewCluster(kfake.NumBrokers(1)))
	defer cluster.Close()
	client := must(kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...)))
	defer client.Close()
	admin := kadm.NewClient(client)
	topics := 0
	topic := median(func() {
		topics++
		must(admin.CreateTopic(context.Background(), 1, 1, nil, fmt.Sprintf("topic-%d", topics)))
	})
	figures := map[string]float64{"start_ms": start, "topic_ms": topic, "megabytes": residentMegabytes() - before}
	must(os.Stdout.Write(must(json.Marshal(figures))))
}

// Milliseconds.
func median(do func()) float64 {
	var took []float64
	for range times {
		began := time.Now()
		do()
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(took)
	return took[times/2]
}

func residentMegabytes() float64 {
	status := string(must(os.ReadFile("/proc/self/status")))
	_, rest, _ := strings.Cut(status, "VmRSS:")
	var kilobytes float64
	must(fmt.Sscanf(rest, "%f", &kilobytes))
	return kilobytes / 1024
}

func must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}
