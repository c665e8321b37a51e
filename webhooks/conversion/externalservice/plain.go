// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
)

// PlainUp returns the v1 form, without defaults, of what v1alpha1 can say. It may share memory
// with its arguments. Alone, without the restore annotations that hubspoke makes, it loses what v1
// cannot say: it is what the benchmarks give to handlers that have no such annotation.
func PlainUp(spec v1alpha1.ExternalServiceSpec, status v1alpha1.ExternalServiceStatus) (v1.ExternalServiceSpec, v1.ExternalServiceStatus) {
	h := up(spoke{Spec: spec, Status: status})
	return h.Spec, h.Status
}

// PlainDown returns the view at v1alpha1. The notes of PlainUp hold for it as well.
func PlainDown(spec v1.ExternalServiceSpec, status v1.ExternalServiceStatus) (v1alpha1.ExternalServiceSpec, v1alpha1.ExternalServiceStatus) {
	s := down(hub{Spec: spec, Status: status})
	return s.Spec, s.Status
}
