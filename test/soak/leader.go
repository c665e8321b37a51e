// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// leaseName is the one of the shipped configuration.
const leaseName = "fairlead-manager"

// holder is who stands in the Lease.
func (s *site) holder(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	err := s.admin.Get(ctx, client.ObjectKey{Namespace: framework.Namespace, Name: leaseName}, &lease)
	return ptr.Deref(lease.Spec.HolderIdentity, ""), err
}

// leader waits for a replica that holds the Lease and reconciles; none of those who led before.
func (s *site) leader(ctx context.Context, before ...*replica) (*replica, error) {
	var leads *replica
	err := framework.Eventually(ctx, startTimeout, func(ctx context.Context) error {
		holder, err := s.holder(ctx)
		if err != nil {
			return err
		}
		for _, r := range before {
			if r.ID == holder {
				return fmt.Errorf("%s still holds the Lease", holder)
			}
		}
		for _, r := range s.running() {
			if r.ID == holder {
				leads = r
				return r.Started(ctx)
			}
		}
		return fmt.Errorf("the Lease is held by %q, who is none of the replicas", holder)
	})
	if err == nil {
		s.printf("%s leads", leads.ID)
	}
	return leads, err
}

// ended waits for a replica that ends by itself, and returns how.
func (s *site) ended(ctx context.Context, r *replica, within time.Duration) (code int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%s has not ended within %s", r.ID, within))
	defer cancel()
	err = r.Wait(ctx)
	s.deaths[r.ID] = time.Now()
	if exit := (interface{ ExitCode() int })(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
