// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/cron"
)

// Cron checks a cron expression as the schema does.
func Cron(path Path, c common.Cron) field.ErrorList {
	errs := Text(path, string(c), 1, 128)
	if strings.Contains(string(c), "TZ=") {
		errs = append(errs, field.Invalid(path.Field(), string(c), "use timeZone instead of TZ= or CRON_TZ="))
	}
	return errs
}

// TimeZone checks a time zone, which may be absent, as the schema does.
func TimeZone(path Path, zone common.TimeZone) field.ErrorList {
	errs := Text(path, string(zone), 0, 64)
	if strings.EqualFold(string(zone), "local") {
		errs = append(errs, field.Invalid(path.Field(), string(zone), "timeZone must be an IANA name, not Local"))
	}
	return errs
}

// CronSyntax checks what the CRD's schema cannot express of the fields cron and timeZone below a path: the zone exists, and
// the expression parses and fires at least once in five years. It is silent where Cron and TimeZone are not.
func CronSyntax(path Path, c common.Cron, zone common.TimeZone) field.ErrorList {
	var errs field.ErrorList
	if _, err := cron.Location(zone); err != nil {
		if len(TimeZone(path, zone)) == 0 {
			errs = append(errs, field.Invalid(path.Child("timeZone").Field(), string(zone), err.Error()))
		}
		zone = "" // the expression is read nevertheless
	}
	if len(Cron(path, c)) > 0 {
		return errs
	}
	if _, err := cron.Parse(c, zone); err != nil {
		errs = append(errs, field.Invalid(path.Child("cron").Field(), string(c), err.Error()))
	}
	return errs
}

// Calendar checks the windows and blackouts of a spec as the schema does.
func Calendar(path Path, c *common.Calendar) field.ErrorList {
	return append(windows(path.Child("windows"), c.Windows), windows(path.Child("blackouts"), c.Blackouts)...)
}

func windows(path Path, list []common.Window) field.ErrorList {
	errs := Items(path, len(list), 0, 16)
	list = Within(list, 16)
	for i := range list {
		w, at := &list[i], path.Index(i)
		errs = append(errs, Cron(at.Child("cron"), w.Cron)...)
		errs = append(errs, TimeZone(at.Child("timeZone"), w.TimeZone)...)
		span, ok, durationErrs := Duration(at.Child("duration"), w.Duration)
		errs = append(errs, durationErrs...)
		if ok && (span < time.Minute || span > 168*time.Hour) {
			errs = append(errs, field.Invalid(at.Child("duration").Field(), string(w.Duration), "duration must be between 1m and 168h"))
		}
	}
	return append(errs, Names(path, len(list), func(i int) string { return list[i].Name })...)
}

// CalendarSyntax applies CronSyntax to each window and blackout of a spec.
func CalendarSyntax(path Path, c *common.Calendar) field.ErrorList {
	var errs field.ErrorList
	for i := range c.Windows {
		errs = append(errs, CronSyntax(path.Child("windows").Index(i), c.Windows[i].Cron, c.Windows[i].TimeZone)...)
	}
	for i := range c.Blackouts {
		errs = append(errs, CronSyntax(path.Child("blackouts").Index(i), c.Blackouts[i].Cron, c.Blackouts[i].TimeZone)...)
	}
	return errs
}
