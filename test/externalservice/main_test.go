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

	"github.com/fairlead-dev/fairlead/test/outside"
	"github.com/fairlead-dev/fairlead/test/stage"
)

// root of the checkout.
const root = "../.."

// play is the stage that all tests share, with two replicas, and the world outside.
type play struct {
	*stage.Troupe
	world *outside.World

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
	world, err := outside.Open()
	if err != nil {
		return nil, err
	}
	// Suites that run on this host at the same time should not want the same addresses.
	p := &play{world: world, address: os.Getpid() % 120 * 500}
	opened = p
	p.Troupe, err = stage.OpenTroupe(suite, stage.Options{Root: root, Operator: stage.Outside, Output: os.Stderr},
		"--dns-nameservers="+world.DNS.Addr().String(), "--drain-period=1s")
	if err != nil {
		return nil, err
	}
	return p, nil
}

// close ends the operator before the world that it looks at.
func (p *play) close() error {
	var err error
	if p.Troupe != nil {
		err = p.Close()
	}
	return errors.Join(err, p.world.Close())
}

// complaints are those of all replicas, if there are any.
func (p *play) complaints() []string {
	if p.Troupe == nil {
		return nil
	}
	return p.Complaints()
}
