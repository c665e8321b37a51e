// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// root of the checkout.
const root = "../.."

// patience is how long a condition may take. The machine may be a busy one.
const patience = 8 * time.Minute

var (
	// suite is the context of everything: the cluster lives as long as it does.
	suite, closing = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)

	open   = sync.OnceValues(openStage)
	opened struct {
		sync.Mutex
		stage    *framework.Cluster
		replicas []*framework.Replica
	}
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	defer closing()
	log.SetLogger(logr.Discard())
	code := m.Run()
	opened.Lock()
	defer opened.Unlock()
	if opened.stage == nil {
		return code
	}
	var errs []error
	if problems := framework.Complaints(opened.replicas...); len(opened.replicas) > 0 && len(problems) > 0 {
		errs = append(errs, errors.New(strings.Join(problems, "\n")))
	}
	if err := errors.Join(append(errs, opened.stage.Close())...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func openStage() (*framework.Cluster, error) {
	s, err := framework.Open(suite, framework.Options{Root: root, Output: os.Stderr})
	if err != nil {
		return nil, err
	}
	opened.Lock()
	opened.stage = s
	opened.Unlock()
	return s, nil
}
