// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// Cron checks the fields cron and timeZone below a path: the zone must exist, and the expression must parse and fire
// within five years.
func Cron(path Path, c common.Cron, zone common.TimeZone) field.ErrorList {
	var errs field.ErrorList
	if _, err := cron.Location(zone); err != nil {
		errs = append(errs, field.Invalid(path.Child("timeZone").Field(), string(zone), err.Error()))
		zone = "" // the expression is checked without the zone
	}
	if c == "" {
		return errs
	}
	if _, err := cron.Parse(c, zone); err != nil {
		errs = append(errs, field.Invalid(path.Child("cron").Field(), string(c), err.Error()))
	}
	return errs
}

// Calendar applies Cron to each window and blackout of a spec.
func Calendar(path Path, c *common.Calendar) field.ErrorList {
	return append(windows(path.Child("windows"), c.Windows), windows(path.Child("blackouts"), c.Blackouts)...)
}

func windows(path Path, list []common.Window) field.ErrorList {
	errs := TooMany(path, len(list))
	for i, w := range Within(list) {
		errs = append(errs, Cron(path.Index(i), w.Cron, w.TimeZone)...)
	}
	return errs
}
