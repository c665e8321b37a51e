// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/test/bench/process"
	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// most bytes of one page that is read.
const most = 64 << 20

// Subject is a replica, and where it shows what it uses.
type Subject struct {
	*framework.Replica
	metrics, profiles string
}

// Start runs a replica behind the webhook Service. Its metrics are read without TLS: to ask who may read
// them would be a call that is not of the work that is measured. It loses no Lease because the machine
// is busy.
func Start(ctx context.Context, on *framework.Cluster, args ...string) (*Subject, error) {
	var at [2]string
	for i := range at {
		port, err := loopback.FreePort()
		if err != nil {
			return nil, err
		}
		at[i] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	replica, err := on.StartReplica(ctx, append([]string{
		"--set=metrics.secure=false", "--metrics-bind-address=" + at[0], "--pprof-bind-address=" + at[1],
		"--set=leaderElection.leaseDuration=240s", "--set=leaderElection.renewDeadline=200s",
	}, args...)...)
	if err != nil {
		return nil, err
	}
	return &Subject{Replica: replica, metrics: "http://" + at[0] + "/metrics", profiles: "http://" + at[1] + "/debug/pprof"}, nil
}

// Metrics is the page of its metrics.
func (s *Subject) Metrics(ctx context.Context) (string, error) {
	page, err := read(ctx, s.metrics)
	return string(page), err
}

// Profile is one of its profiles, such as "heap" or "profile?seconds=10".
func (s *Subject) Profile(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s.profiles+"/"+name)
}

// Until asks again and again, and gives up when ctx or the subject has ended. A nil subject never ends.
func (s *Subject) Until(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
		if s != nil && s.PID() == 0 {
			return errors.New("the operator has ended; its last words are above")
		}
	}
}

// read fetches a page that needs no authentication.
func read(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, most))
}

// Step is one of those that a benchmark goes through.
type Step struct {
	Title string
	Do    func(context.Context) error
}

// Walk goes through the steps within the limit, and says how long each took. An error says in which it
// came, and why there was no more time.
func Walk(ctx context.Context, limit time.Duration, say func(format string, args ...any), steps ...Step) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("not done after %s: measure fewer objects, or on a machine that is less busy", limit))
	defer cancel()
	for _, step := range steps {
		began := time.Now()
		if err := step.Do(ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", cause, err)
			}
			return fmt.Errorf("%s: %w", step.Title, err)
		}
		say("%s: %.1fs, load average %s", step.Title, time.Since(began).Seconds(), process.Load())
	}
	return nil
}
