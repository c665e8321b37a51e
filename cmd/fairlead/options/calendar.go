// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/internal/cron"
)

// Calendar says when nothing is disrupted in the whole cluster: no restart begins, and no chaos.
type Calendar struct {
	// Blackouts that always hold, at most 100. The default is none.
	Blackouts []cron.Blackout `json:"blackouts,omitempty"`

	// ConfigMap is the ConfigMap of the operator's namespace that adds blackouts, under the key
	// blackouts, at most 100. It is followed, and need not exist. The default is fairlead-calendar;
	// "" follows none.
	ConfigMap string `json:"configMap"`
}

func (c Calendar) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := cron.NewBlackouts(c.Blackouts); err != nil {
		errs = append(errs, field.Invalid(path.Child("blackouts"), len(c.Blackouts), err.Error()))
	}
	if c.ConfigMap == "" {
		return errs
	}
	for _, problem := range validation.IsDNS1123Subdomain(c.ConfigMap) {
		errs = append(errs, field.Invalid(path.Child("configMap"), c.ConfigMap, problem))
	}
	return errs
}
