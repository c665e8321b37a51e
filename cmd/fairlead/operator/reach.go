// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/operator/phases"
)

// attemptTimeout bounds one request of reach; an API server that is slower is as good as away.
const attemptTimeout = 15 * time.Second

// reach waits until the API server answers, at most for a limit. A process that gives up too late
// hides a wrong address, one that gives up at once does not survive an API server that restarts.
type reach struct {
	client   rest.Interface
	server   string
	origin   string
	limit    time.Duration
	first    time.Duration // the first pause; 0 means 100 ms
	recorder *phases.Recorder
	logger   logr.Logger
}

func (r reach) wait(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	pause := r.first
	if pause == 0 {
		pause = 100 * time.Millisecond
	}
	backoff := wait.Backoff{Duration: pause, Factor: 1.6, Jitter: 0.2, Steps: 1000, Cap: 5 * time.Second}
	var reason error
	for {
		err := r.once(bounded)
		if err == nil {
			return nil
		}
		if reason == nil || bounded.Err() == nil { // that the limit cut an attempt off says less than the attempt before it
			reason = err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.recorder.Progress(phases.APIServer, "%s does not answer: %v", r.server, err)
		r.logger.Info("the API server does not answer yet", "server", r.server, "reason", err.Error())
		timer := time.NewTimer(backoff.Step())
		select {
		case <-timer.C:
		case <-bounded.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("the API server %s (%s) does not answer, tried for %s: %w; check its address, or allow it more time with --kube-api-start-timeout",
				r.server, r.origin, r.limit, reason)
		}
	}
}

// once asks for the version, which every authenticated user may. An answer that refuses is an
// answer, but not one that does not know who we are: then nothing else would work.
func (r reach) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	err := r.client.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error()
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
