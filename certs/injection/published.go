// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Published returns, as PEM, the authorities that API servers trust by what the injector of any replica wrote; nil where
// none is. A target that does not exist, that the operator may not read or that calls another Service has none. Any other
// error of reading fails it, since the authorities are then not known. Nothing is written.
func (i *Injector) Published(ctx context.Context) ([]byte, error) {
	found := make([][]byte, len(i.targets))
	errs := i.readEach(func(n int, t target) (err error) {
		found[n], err = i.publishedIn(ctx, t)
		return err
	})
	return slices.Concat(found...), errors.Join(errs...)
}

func (i *Injector) publishedIn(ctx context.Context, t target) ([]byte, error) {
	object, err := i.get(ctx, t)
	switch {
	case isAbsent(t, err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return nil, nil
	case err != nil:
		return nil, explain(t, err)
	}
	slots, err := t.kind.slots(object)
	if err != nil || i.checkService(t, slots) != nil {
		return nil, nil //nolint:nilerr // it has no place for a bundle of ours
	}
	var bundle []byte
	for _, one := range slots {
		if !isUseless(one.current) && ownedByInjector(object, t.kind.path(one)) {
			bundle = append(bundle, one.current...)
		}
	}
	return bundle, nil
}
