// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// play is the stage that all tests share, with two replicas, and the servers outside.
type play struct {
	*framework.Replicas
	servers *externalnet.Servers

	mu      sync.Mutex // guards what follows
	address int        // how many addresses outside were given away
}

var (
	// suite is the context of everything: the stage lives as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openPlay)
	opened *play
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer closing()
	log.SetLogger(logr.Discard()) // of the client library; the operator's own is read from its file
	// Tests mostly wait, so that processors do not limit them; -parallel does.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if opened == nil {
		return code
	}
	if problems := opened.complaints(); len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's log holds what it never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	if err := opened.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func openPlay() (*play, error) {
	servers, err := externalnet.Open()
	if err != nil {
		return nil, err
	}
	// Suites that run on this host at the same time should not want the same addresses.
	p := &play{servers: servers, address: os.Getpid() % 120 * 500}
	opened = p
	p.Replicas, err = framework.OpenReplicas(suite, framework.Options{Root: root, Operator: framework.Outside, Output: os.Stderr},
		"--dns-nameservers="+servers.DNS.Addr().String(), "--drain-period=1s")
	if err != nil {
		return nil, err
	}
	return p, nil
}

// close ends the operator before the servers that it looks at.
func (p *play) close() error {
	var err error
	if p.Replicas != nil {
		err = p.Close()
	}
	return errors.Join(err, p.servers.Close())
}

// complaints are those of all replicas, if there are any.
func (p *play) complaints() []string {
	if p.Replicas == nil {
		return nil
	}
	return p.Complaints()
}
