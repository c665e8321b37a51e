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
	"github.com/fairlead-dev/fairlead/controllers/internal/workloads"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/restart"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
)

// failingReader is an API server that gives one answer.
type failingReader struct {
	client.Reader
	err error
}

func (f failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
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
		r := &Reconciler{Live: failingReader{err: c.err}}
		want := sources.Want{Ref: sources.Ref{Kind: autorebootv1.SourceSecret, Namespace: "shop", Name: "creds"}}
		missing, err := r.readRequired(t.Context(), &want)
		if (err != nil) != c.again || !c.again && (len(missing) == 0) != c.exists {
			t.Errorf("%s: missing %q, %v", name, missing, err)
		}
	}
}

// What a watch shows is not read again before each restart.
func TestASourceThatIsWatchedIsNotReadForARestart(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}}},
	}}}}}
	for name, c := range map[string]struct {
		there   map[string][]string
		missing bool
	}{
		"watched":     {map[string][]string{"Secret/creds": nil}, false},
		"another one": {map[string][]string{"Secret/other": nil}, true},
		"none":        {map[string][]string{}, true},
	} {
		r := &Reconciler{Live: failingReader{err: apierrors.NewNotFound(corev1.Resource("secrets"), "creds")}}
		w := &workload{Workload: restart.Workload{Workload: workloads.Workload{UID: "uid-api", Template: template}}}
		s := &observation{key: policyKey, policy: &autorebootv1.RebootPolicy{}, workloads: []*workload{w}, required: c.there}
		var d restart.Decision
		d.Status.InFlight = []autorebootv1.InFlightRestart{{ID: "1", UID: "uid-api"}}
		missing := r.checkRequiredSources(t.Context(), s, &d)
		if missing != c.missing || (len(w.Missing) > 0) != c.missing {
			t.Errorf("%s: missing %t %q", name, missing, w.Missing)
		}
	}
}
