// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/spelling"
)

// invalid refuses the object by the fields of the version that was written, which is another one than that of the review
// where the API server has converted (matchPolicy Equivalent).
func (r request) invalid(errs field.ErrorList) response {
	table, _ := spelling.Of(r.Kind.GroupKind())
	own := make(field.ErrorList, len(errs))
	for i, err := range errs {
		as := *err
		as.Field = table.Path(r.RequestKind.Version, err.Field)
		own[i] = &as
	}
	return invalid(r.Request, own)
}

// warnings returns warnings by the fields of the version that was written.
func (r request) warnings(given []string) []string {
	table, _ := spelling.Of(r.Kind.GroupKind())
	own := make([]string, len(given))
	for i, text := range given {
		own[i] = table.Words(r.RequestKind.Version, text)
	}
	return own
}
