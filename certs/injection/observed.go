// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/panics"
)

// Observed reads all targets and returns nil where every one trusts all that the bundle trusts,
// regardless of who has put it there. An error that wraps certs.ErrNotCarried names a target that was seen
// not to; any other tells why a target could not be read. It writes nothing.
func (i *Injector) Observed(ctx context.Context, bundle []byte) error {
	if err := validateBundle(bundle); err != nil {
		return err
	}
	errs := make([]error, len(i.targets))
	var reading sync.WaitGroup
	for n, t := range i.targets {
		reading.Go(func() {
			errs[n] = panics.Try("CA injection", func() error { return i.checkTarget(ctx, t, bundle) })
		})
	}
	reading.Wait()
	return errors.Join(errs...)
}

func (i *Injector) checkTarget(ctx context.Context, t target, bundle []byte) error {
	object, slots, err := i.read(ctx, t)
	if err != nil {
		return err
	}
	if !allInclude(slots, bundle) {
		return fmt.Errorf("%s: %w; what stands there is of %s", t, certs.ErrBundleMissing, writer(t.kind, object, slots))
	}
	return nil
}
