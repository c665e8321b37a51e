// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/cluster"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// play is the stage that all tests share, with two replicas behind the webhook Service.
type play struct {
	*framework.Cluster
	servers  *externalnet.Servers
	client   client.Client
	replicas []*framework.Replica
}

var (
	// suite is the context of everything: the clusters live as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openPlay)
	bare   = sync.OnceValues(openBare)
	opened struct {
		sync.Mutex
		play *play
		bare *cluster.Cluster
	}
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer closing()
	log.SetLogger(logr.Discard()) // of the client library; the operator's own is read from its file
	// Tests mostly wait, so that processors do not limit them; -parallel does.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	opened.Lock()
	defer opened.Unlock()
	if p := opened.play; p != nil {
		if problems := framework.Complaints(p.replicas...); len(problems) > 0 {
			fmt.Fprintf(os.Stderr, "the operator's log holds what it never should:\n%s\n", strings.Join(problems, "\n"))
			code = 1
		}
		if err := errors.Join(p.Close(), p.servers.Close()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if opened.bare != nil {
		if err := opened.bare.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// openPlay starts the shared stage. The audit log holds every write of the operator's.
func openPlay() (*play, error) {
	policy, err := filepath.Abs("testdata/audit-policy.yaml")
	if err != nil {
		return nil, err
	}
	servers, err := externalnet.Open() // nothing leaves this host
	if err != nil {
		return nil, err
	}
	s, err := framework.Open(suite, framework.Options{
		Root: root, Output: os.Stderr, Operator: framework.Outside, Cluster: cluster.Options{AuditPolicy: policy},
	})
	if err != nil {
		return nil, err
	}
	p := &play{Cluster: s, servers: servers}
	opened.Lock()
	opened.play = p
	opened.Unlock()
	if p.client, err = framework.NewClient(s.Kubeconfig()); err != nil {
		return nil, err
	}
	for range 2 {
		replica, err := s.StartReplica(suite, append(slices.Clone(patient), "--dns-nameservers="+servers.DNS.Addr().String())...)
		if err != nil {
			return nil, err
		}
		p.replicas = append(p.replicas, replica)
	}
	return p, s.Reachable(suite)
}

// openBare starts a control plane with nothing but Fairlead's definitions on it, as they are
// generated: no conversion, no webhooks, no operator.
func openBare() (*cluster.Cluster, error) {
	c, err := cluster.Start(suite, cluster.Options{
		Build: cluster.BuildOptions{Root: root}, WithoutControllerManager: true, Output: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	opened.Lock()
	opened.bare = c
	opened.Unlock()
	if _, err := c.Kubectl(suite, "apply", "--server-side", "-f", filepath.Join(root, "config", "crd", "bases")); err != nil {
		return nil, err
	}
	return c, framework.Established(suite, func(ctx context.Context, args ...string) error {
		_, err := c.Kubectl(ctx, args...)
		return err
	})
}
