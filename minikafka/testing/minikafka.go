// Package minikafka is a Kafka for tests, which fails when a test tells it to: `minikafka serve` as a child process.
//
// Copy this file into a folder of your module. It ends with the test, or with this process, whatever happens to it. The
// variable MINIKAFKA names the command, where it isn't on the PATH. It needs nothing but Go's own packages.
package minikafka

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Kafka is the brokers of a test.
type Kafka struct {
	BootstrapServers string `json:"bootstrap_servers"`
	Control          string `json:"control"`
	Token            string `json:"token"`
	t                testing.TB
}

// Words of a fault: "topic", "nth", "times" and the others of minikafka.testing.
type Words map[string]any

// Fault is a fault, until it ends.
type Fault struct {
	ID    int `json:"id"`
	kafka *Kafka
}

// Start returns when clients may come. options: of `minikafka serve`, "--brokers", "3" for example.
func Start(t testing.TB, options ...string) *Kafka {
	t.Helper()
	command := os.Getenv("MINIKAFKA")
	if command == "" {
		command = "minikafka"
	}
	line := append([]string{"serve", "--port", "0", "--control", "0", "--ready", "json", "--exit-with-parent"}, options...)
	process := exec.Command(command, line...)
	process.Stderr = os.Stderr
	// it ends when this pipe does: that of a process that is gone is closed
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		process.Wait()
	})
	kafka := &Kafka{t: t}
	if err := json.NewDecoder(stdout).Decode(kafka); err != nil {
		t.Fatalf("minikafka did not start: see its message on standard error (%v)", err)
	}
	return kafka
}

// Fault begins a fault. kind: Lose, Answer, Delay, Throttle, Crash or Freeze.
func (kafka *Kafka) Fault(kind, api string, words Words) *Fault {
	kafka.t.Helper()
	body := map[string]any{"fault": kind, "api": api}
	for word, value := range words {
		body[word] = value
	}
	fault := &Fault{kafka: kafka}
	kafka.ask("POST", "/faults", body, fault)
	return fault
}

// Hits tells how many requests it has met, while it is there.
func (fault *Fault) Hits() int {
	fault.kafka.t.Helper()
	var told struct {
		Hits int `json:"hits"`
	}
	fault.kafka.ask("GET", fmt.Sprintf("/faults/%d", fault.ID), nil, &told)
	return told.Hits
}

// End ends it: it meets nothing any more.
func (fault *Fault) End() {
	fault.kafka.t.Helper()
	fault.kafka.ask("DELETE", fmt.Sprintf("/faults/%d", fault.ID), nil, nil)
}

// Advance moves the brokers' time on; what is due by then happens before it returns.
func (kafka *Kafka) Advance(by time.Duration) {
	kafka.t.Helper()
	kafka.ask("POST", "/clock/advance", map[string]any{"seconds": by.Seconds()}, nil)
}

// Kill is kill -9; what the broker has written is there after a restart.
func (kafka *Kafka) Kill(broker int) { kafka.t.Helper(); kafka.do(broker, "kill") }

// Restart starts it on the same port and data.
func (kafka *Kafka) Restart(broker int) { kafka.t.Helper(); kafka.do(broker, "restart") }

// Freeze lets it stand still, with its connections open, until Thaw.
func (kafka *Kafka) Freeze(broker int) { kafka.t.Helper(); kafka.do(broker, "freeze") }

// Thaw lets it go on as if nothing had happened.
func (kafka *Kafka) Thaw(broker int) { kafka.t.Helper(); kafka.do(broker, "thaw") }

func (kafka *Kafka) do(broker int, what string) {
	kafka.t.Helper()
	kafka.ask("POST", fmt.Sprintf("/brokers/%d/%s", broker, what), nil, nil)
}

// Cut lets nothing pass between two brokers until Mend.
func (kafka *Kafka) Cut(one, other int) {
	kafka.t.Helper()
	kafka.ask("POST", "/cut", map[string]any{"brokers": []int{one, other}}, nil)
}

// Mend lets the two hear each other again.
func (kafka *Kafka) Mend(one, other int) {
	kafka.t.Helper()
	kafka.ask("POST", "/mend", map[string]any{"brokers": []int{one, other}}, nil)
}

// Heard tells what clients have asked of late.
func (kafka *Kafka) Heard() []string {
	kafka.t.Helper()
	var told struct {
		Heard []string `json:"heard"`
	}
	kafka.ask("GET", "/heard", nil, &told)
	return told.Heard
}

func (kafka *Kafka) ask(method, path string, body map[string]any, told any) {
	kafka.t.Helper()
	var sent []byte
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			kafka.t.Fatal(err)
		}
		sent = encoded
	}
	request, err := http.NewRequest(method, kafka.Control+path, bytes.NewReader(sent))
	if err != nil {
		kafka.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+kafka.Token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		kafka.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		kafka.t.Fatal(err)
	}
	if answer.StatusCode >= 300 {
		kafka.t.Fatalf("%s %s: %s", method, path, text)
	}
	if told != nil {
		if err := json.Unmarshal(text, told); err != nil {
			kafka.t.Fatal(err)
		}
	}
}
