// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/sources"
)

// answering is an API server that gives one answer.
type answering struct {
	client.Reader
	err error
}

func (a answering) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return a.err
}

func TestOnlyASourceThatIsKnownToBeMissingHoldsARestart(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for name, c := range map[string]struct {
		err           error
		exists, again bool
	}{
		"there":               {nil, true, false},
		"missing":             {apierrors.NewNotFound(secrets, "creds"), false, false},
		"may not be read":     {apierrors.NewForbidden(secrets, "creds", errors.New("no")), true, false},
		"cannot be decoded":   {apierrors.NewInternalError(errors.New("no key")), true, false},
		"too many requests":   {apierrors.NewTooManyRequests("later", 1), false, true},
		"a closed API server": {apierrors.NewServiceUnavailable("shutting down"), false, true},
		"out of reach":        {errors.New("connection refused"), false, true},
	} {
		r := &Reconciler{Live: answering{err: c.err}}
		exists, err := r.exists(t.Context(), sources.Ref{Kind: autorebootv1.SourceSecret, Namespace: "shop", Name: "creds"})
		if (err != nil) != c.again || exists != c.exists {
			t.Errorf("%s: exists %t, %v", name, exists, err)
		}
	}
}
