// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	// number is how a plain scalar must begin to be one.
	number = regexp.MustCompile(`^[-+]?(\.?[0-9])`)
	// decimal is a number with a point or an exponent.
	decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolve returns what a plain scalar means in YAML 1.1 as kubectl reads it.
func resolve(plain string) any {
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if !number.MatchString(plain) {
		return plain
	}
	digits := strings.ReplaceAll(plain, "_", "")
	if plain[0] == '.' {
		digits = plain
	} else {
		if whole, err := strconv.ParseInt(digits, 0, 64); err == nil {
			return whole
		}
		if whole, err := strconv.ParseUint(digits, 0, 64); err == nil {
			return float64(whole)
		}
	}
	if decimal.MatchString(digits) {
		if value, err := strconv.ParseFloat(digits, 64); err == nil {
			return whole(value)
		}
	}
	return plain
}

// whole returns an integer where the number reads as one once it was written as JSON: kubectl sends
// 5.0 as 5, and 1e21 as it is.
func whole(value float64) any {
	if value == math.Trunc(value) && math.Abs(value) < 1<<63 {
		return int64(value)
	}
	return value
}
