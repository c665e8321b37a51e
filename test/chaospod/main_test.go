// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package chaospod

import (
	"context"
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

// root is the checkout.
const root = "../.."

var (
	// suite is the context of everything: the stage lives as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openTroupe)
	opened *framework.Replicas
	// servers is what ExternalServices lead to. It ends after the operator that looks at it.
	servers *externalnet.Servers

	// pardons are namespaces in which the operator is rightly refused.
	pardons   []string
	pardonsMu sync.Mutex
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
	if servers != nil {
		defer func() { _ = servers.Close() }()
	}
	if opened == nil {
		return code
	}
	problems := slices.DeleteFunc(opened.Complaints(), func(line string) bool {
		return slices.ContainsFunc(pardons, func(namespace string) bool { return strings.Contains(line, namespace) })
	})
	if len(problems) > 0 {
		fmt.Fprintf(os.Stderr, "the operator's log holds what it never should:\n%s\n", strings.Join(problems, "\n"))
		code = 1
	}
	if err := opened.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func openTroupe() (*framework.Replicas, error) {
	var err error
	if servers, err = externalnet.Open(); err != nil {
		return nil, err
	}
	opened, err = framework.OpenReplicas(suite, framework.Options{
		Root: root, Operator: framework.Outside, Output: os.Stderr, Cluster: cluster.Options{Nodes: 3},
	}, "--max-restarts=500", "--dns-nameservers="+servers.DNS.Addr().String())
	return opened, err
}
