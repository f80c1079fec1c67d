// Pings a broker: `go run ./connect < HOW`. It prints nothing where it gets in, else what
// franz-go says.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// How to connect, in JSON on standard input. CA and Own are paths of PEM files.
type How struct {
	Bootstrap, Protocol, Mechanism, User, Password, Token, CA, Own string
	PatienceMs                                                     int
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (how How) tls() *tls.Config {
	authority, err := os.ReadFile(how.CA)
	must(err)
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if how.Own != "" {
		own, err := tls.LoadX509KeyPair(how.Own, how.Own)
		must(err)
		config.Certificates = []tls.Certificate{own}
	}
	return config
}

func (how How) login() kgo.Opt {
	known := scram.Auth{User: how.User, Pass: how.Password}
	switch how.Mechanism {
	case "PLAIN":
		return kgo.SASL(plain.Auth{User: how.User, Pass: how.Password}.AsMechanism())
	case "SCRAM-SHA-256":
		return kgo.SASL(known.AsSha256Mechanism())
	case "SCRAM-SHA-512":
		return kgo.SASL(known.AsSha512Mechanism())
	}
	return kgo.SASL(oauth.Auth{Token: how.Token}.AsMechanism())
}

func main() {
	var how How
	must(json.NewDecoder(os.Stdin).Decode(&how))
	patience := time.Duration(how.PatienceMs) * time.Millisecond
	options := []kgo.Opt{kgo.SeedBrokers(how.Bootstrap), kgo.RetryTimeout(patience)}
	if strings.HasSuffix(how.Protocol, "SSL") {
		options = append(options, kgo.DialTLSConfig(how.tls()))
	}
	if how.Mechanism != "" {
		options = append(options, how.login())
	}
	client, err := kgo.NewClient(options...)
	must(err)
	defer client.Close()
	if err := client.Ping(context.Background()); err != nil {
		fmt.Println(err)
	}
}
