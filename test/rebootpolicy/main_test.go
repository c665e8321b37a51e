// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// podCIDR lies in a range that test/externalnet has servers stand for.
const podCIDR = "198.19.0.0/16"

// play is the stage that all tests share, with two replicas, three nodes, and the servers outside.
type play struct {
	*framework.Replicas
	servers *externalnet.Servers

	mu      sync.Mutex // guards what follows
	address int        // how many addresses outside were given away
	pardons []string   // namespaces in which the operator is rightly refused
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
	if problems := opened.logged(); len(problems) > 0 {
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
	p.Replicas, err = framework.OpenReplicas(suite, framework.Options{
		Root: root, Operator: framework.Outside, Output: os.Stderr,
		Cluster: cluster.Options{Nodes: 3, PodCIDR: podCIDR},
	},
		"--dns-nameservers="+servers.DNS.Addr().String(), "--max-restarts=500")
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

// logged are the complaints in the logs of all replicas that ever ran, but for those that a test
// provoked.
func (p *play) logged() []string {
	if p.Replicas == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(p.Complaints(), func(line string) bool {
		return slices.ContainsFunc(p.pardons, func(namespace string) bool { return strings.Contains(line, `"`+namespace+`"`) })
	})
}

// pardoned says that the operator is refused in the scene's namespace, and may say so.
func (s *scene) pardoned() {
	s.play.mu.Lock()
	defer s.play.mu.Unlock()
	s.play.pardons = append(s.play.pardons, s.namespace)
}
