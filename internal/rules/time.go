// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// Cron checks a cron field outside a window as the schema does: its length, and no zone of its
// own; noZone is the message of that rule in the CRD.
func Cron(path Path, cron, noZone string) field.ErrorList {
	return append(Text(path, cron, 0, 128), noOwnZone(path, cron, noZone)...)
}

// CronSyntax checks what the CRD's schema cannot express: the expression parses, the zone exists, and the
// schedule fires at least once in five years. It stays silent where the structural rules already
// speak.
func CronSyntax(cronPath Path, expression string, zonePath Path, zone *string) field.ErrorList {
	var errs field.ErrorList
	name := ptr.Deref(zone, "")
	if _, err := cron.Location(name); err != nil {
		errs = append(errs, field.Invalid(zonePath.Field(), name, err.Error()))
		name = "" // the expression is read nevertheless
	}
	if strings.Contains(expression, "TZ=") {
		return errs
	}
	if _, err := cron.Parse(expression, name); err != nil {
		errs = append(errs, field.Invalid(cronPath.Field(), expression, err.Error()))
	}
	return errs
}

// Windows checks a list of windows or blackouts, at most 16, as the schema does.
func Windows(path Path, windows []common.Window) field.ErrorList {
	errs := Items(path, len(windows), 0, 16)
	for i, w := range Within(windows, 16) {
		at := path.Index(i)
		errs = append(errs, Text(at.Child("schedule"), w.Schedule, 1, 128)...)
		errs = append(errs, noOwnZone(at.Child("schedule"), w.Schedule, "use timeZone instead of TZ= or CRON_TZ=")...)
		span, ok, durationErrs := Duration(at.Child("duration"), w.Duration)
		errs = append(errs, durationErrs...)
		if ok && (span < time.Minute || span > 168*time.Hour) {
			errs = append(errs, field.Invalid(at.Child("duration").Field(), string(w.Duration), "duration must be between 1m and 168h"))
		}
		if w.TimeZone == nil {
			continue
		}
		errs = append(errs, Text(at.Child("timeZone"), *w.TimeZone, 1, 64)...)
		if strings.EqualFold(*w.TimeZone, "local") {
			errs = append(errs, field.Invalid(at.Child("timeZone").Field(), *w.TimeZone, "timeZone must be an IANA name, not Local"))
		}
	}
	return errs
}

// WindowsSyntax applies CronSyntax to every window.
func WindowsSyntax(path Path, windows []common.Window) field.ErrorList {
	var errs field.ErrorList
	for i, w := range windows {
		at := path.Index(i)
		errs = append(errs, CronSyntax(at.Child("schedule"), w.Schedule, at.Child("timeZone"), w.TimeZone)...)
	}
	return errs
}
