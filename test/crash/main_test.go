// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// play is the stage that all tests share. One replica answers admission and reconciles a namespace
// that is not there; those that are broken belong to a test each.
type play struct {
	*framework.Cluster
	client client.WithWatch

	mu       sync.Mutex // guards what follows
	replicas []*framework.Replica
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
	log.SetLogger(logr.Discard()) // of the client library
	// Tests mostly wait, so that processors do not limit them; -parallel does.
	if err := flag.Set("test.parallel", "24"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if opened == nil || opened.Cluster == nil {
		return code
	}
	opened.mu.Lock()
	defer opened.mu.Unlock()
	if problems := framework.Complaints(opened.replicas...); len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's log holds what it never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	if err := opened.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func openPlay() (*play, error) {
	p := &play{}
	opened = p
	var err error
	if p.Cluster, err = framework.Open(suite, framework.Options{Root: root, Output: os.Stderr, Cluster: cluster.Options{Nodes: 3}}); err != nil {
		return nil, err
	}
	if p.client, err = framework.NewClient(p.Kubeconfig()); err != nil {
		return nil, err
	}
	if _, err := p.StartReplica(suite, "--leader-elect=false", "--namespaces=nowhere"); err != nil {
		return nil, err
	}
	return p, p.Reachable(suite)
}

// remember has the log of a replica read at the end.
func (p *play) remember(r *framework.Replica) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replicas = append(p.replicas, r)
}
