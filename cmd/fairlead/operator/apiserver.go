// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/internal/retry"
)

// attemptTimeout bounds one request; an API server that is slower is of no use.
const attemptTimeout = 15 * time.Second

// apiServerWait waits until the API server responds, at most for a limit. A limit that is too long
// hides a wrong address, and one that is too short does not survive a restart of the API server.
type apiServerWait struct {
	client   rest.Interface
	server   string
	origin   string
	limit    time.Duration
	first    time.Duration // the first pause; 0 means 100 ms
	recorder *phases.Recorder
	logger   logr.Logger
}

func (a apiServerWait) wait(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	var reason error
	err := retry.Until(bounded, retry.Policy{
		MinDelay: cmp.Or(a.first, 100*time.Millisecond), MaxDelay: 5 * time.Second, AttemptTimeout: -1,
		OnRetry: func(err error, _ time.Duration) {
			a.recorder.Progress(phases.APIServer, "%s does not answer: %v", a.server, err)
			a.logger.Info("the API server does not answer yet", "server", a.server, "reason", err.Error())
		},
	}, func(ctx context.Context) error {
		err := a.ping(ctx)
		if err != nil && (reason == nil || ctx.Err() == nil) { // an attempt that the limit cut off has no reason of its own
			reason = err
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("the API server %s (%s) does not answer, tried for %s: %w; check its address, or allow it more time by clientConnection.startTimeout",
		a.server, a.origin, a.limit, cmp.Or(reason, err))
}

// ping gets the version, which every authenticated user may. A refusal is a response, too, except for 401: then
// nothing else would work.
func (a apiServerWait) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := a.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch code := status.Status().Code; {
		case code == http.StatusUnauthorized, code == http.StatusTooManyRequests, code >= 500:
			return err
		}
		return nil
	}
	return err
}

// namespaceFile is where the kubelet writes the namespace of a pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// identity is what this process is called, and where it runs.
type identity struct {
	namespace      string // of the operator: its Service, Secrets and pods
	leaseNamespace string
	id             string
	pod            string // empty outside a pod
}

// newIdentity resolves what the configuration leaves to the environment.
func newIdentity(c *options.Configuration, getenv func(string) string, file string) (identity, error) {
	p := identity{
		namespace: c.Service.Namespace,
		id:        c.LeaderElection.ID,
		pod:       getenv("POD_NAME"),
	}
	if p.namespace == "" {
		p.namespace = getenv("POD_NAMESPACE")
	}
	if p.namespace == "" {
		content, err := os.ReadFile(file) //nolint:gosec // a constant, except in tests
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return identity{}, fmt.Errorf("namespace of the operator: %w", err)
		}
		p.namespace = strings.TrimSpace(string(content))
	}
	if p.namespace == "" {
		return identity{}, errors.New("the namespace of the operator is not known outside a pod: give it by service.namespace or POD_NAMESPACE")
	}
	if p.leaseNamespace = c.LeaderElection.ResourceNamespace; p.leaseNamespace == "" {
		p.leaseNamespace = p.namespace
	}
	if p.id == "" {
		host, err := os.Hostname()
		if err != nil {
			return identity{}, fmt.Errorf("identity of this replica: %w; give one by leaderElection.id", err)
		}
		p.id = host + "_" + string(uuid.NewUUID())
	}
	return p, nil
}
