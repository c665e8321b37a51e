// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var (
	dnsPattern = mostly{plainName, regexp.MustCompile(`^([a-z0-9_]([-a-z0-9_]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.?$`)}
	// inClusterPattern is that of the name of a Service in the cluster, with svc as its last label, its third, or a later
	// one: db.shop.svc and db.shop.svc.example.org, but not db.svc.example.org.
	inClusterPattern = regexp.MustCompile(`[.]svc([.]cluster[.]local)?[.]?$|^[^.]+[.].*[.]svc[.]`)

	withPort  = regexp.MustCompile(`^([0-9.]+|\[.*\]):[0-9]*$`)
	beyondHex = regexp.MustCompile(`[g-zG-Z]`)
	aRange    = regexp.MustCompile(`^([0-9.]+|[0-9a-fA-F]*:[0-9a-fA-F:.]*)/[0-9]+$`)

	reserved4  = netip.MustParsePrefix("224.0.0.0/3")
	multicast6 = netip.MustParsePrefix("ff00::/8")
)

func endpoints(path rules.Path, spec *v1.ExternalServiceSpec) field.ErrorList {
	errs := rules.Items(path, len(spec.Endpoints), 1, 32)
	list := rules.Within(spec.Endpoints, 32)
	names := make(map[string]bool, len(list))
	for i := range list {
		e, at := &list[i], path.Index(i)
		errs = append(errs, rules.Text(at.Child("name"), e.Name, 1, 63)...)
		errs = append(errs, rules.Pattern(at.Child("name"), e.Name, labelPattern, rules.NameMessage)...)
		if names[e.Name] {
			errs = append(errs, field.Duplicate(at.Child("name").Field(), e.Name))
		}
		names[e.Name] = true

		// An empty list that is there counts as given, as in CEL's has().
		if (e.DNS != nil) == (e.Addresses != nil) {
			errs = append(errs, field.Invalid(at.Field(), e.Name, "set exactly one of dns or addresses"))
		}
		errs = append(errs, dnsName(at.Child("dns"), e.DNS)...)
		if e.Addresses != nil {
			errs = append(errs, addresses(at.Child("addresses"), e.Addresses)...)
		}
		errs = append(errs, rules.OptionalRange(at.Child("priority"), e.Priority, 0, 9)...)
		if e.Priority != nil && *e.Priority != 0 && spec.HealthCheck == nil {
			errs = append(errs, field.Invalid(at.Child("priority").Field(), *e.Priority, "more than one priority needs healthCheck"))
		}
		errs = append(errs, rules.OptionalText(at.Child("zone"), e.Zone, 0, 63)...)
		errs = append(errs, endpointPorts(at.Child("ports"), e.Ports, spec.Ports)...)
		if e.State != nil {
			errs = append(errs, rules.Enum(at.Child("state"), *e.State, v1.EndpointActive, v1.EndpointDrained)...)
		}
	}
	return errs
}

func endpointPorts(path rules.Path, list []v1.EndpointPort, known []v1.ServicePort) field.ErrorList {
	errs := rules.Items(path, len(list), 0, 16)
	list = rules.Within(list, 16)
	names := make(map[string]bool, len(list))
	for i, p := range list {
		at := path.Index(i)
		errs = append(errs, rules.Text(at.Child("name"), p.Name, 1, 63)...)
		errs = append(errs, rules.Range(at.Child("port"), p.Port, 1, 65535)...)
		if names[p.Name] {
			errs = append(errs, field.Duplicate(at.Child("name").Field(), p.Name))
		}
		names[p.Name] = true
		if !hasPort(known, p.Name) {
			errs = append(errs, field.Invalid(at.Child("name").Field(), p.Name, "endpoints[].ports must name one of ports"))
		}
	}
	return errs
}

func dnsName(path rules.Path, dns *v1.DNSName) field.ErrorList {
	if dns == nil {
		return nil
	}
	name, at := dns.Name, path.Child("name")
	errs := rules.Text(at, name, 1, 253)
	if _, ok := parseIP(name); ok {
		errs = append(errs, field.Invalid(at.Field(), name, "use addresses for an IP"))
	} else if !dnsPattern.MatchString(name) {
		errs = append(errs, field.Invalid(at.Field(), name, notAName(name)))
	}
	if strings.Contains(name, ".svc") && inClusterPattern.MatchString(name) || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		errs = append(errs, field.Invalid(at.Field(), name, "in-cluster and localhost names are not allowed"))
	}
	if dns.RecordType != nil {
		errs = append(errs, rules.Enum(path.Child("recordType"), *dns.RecordType, v1.RecordAddress, v1.RecordSRV)...)
	}
	return errs
}

// notAName returns why something is no DNS name, in the words of the CRD.
func notAName(name string) string {
	switch {
	case aRange.MatchString(name):
		return "must be a DNS name: a range cannot be looked up"
	case strings.Contains(name, "/"):
		return "must be a DNS name: leave out scheme and path"
	case strings.Contains(name, ":"):
		return "must be a DNS name: the port goes to spec.ports"
	case strings.Contains(name, "*"):
		return "must be a DNS name: a wildcard cannot be looked up"
	case strings.ContainsFunc(name, func(r rune) bool { return r >= 'A' && r <= 'Z' }):
		return "must be a DNS name: write it in lower case"
	}
	return "must be a DNS name, such as db.example.com"
}

// notAnAddress does the same for addresses.
func notAnAddress(value string) string {
	switch {
	case strings.Contains(value, "/"):
		return "must be an IP address: a range cannot be listed"
	case withPort.MatchString(value):
		return "must be an IP address: the port goes to spec.ports"
	case !strings.Contains(value, ":") && beyondHex.MatchString(value):
		return "must be an IP address: use dns.name for a name"
	}
	return "must be an IP address"
}

func addresses(path rules.Path, list []v1.IPAddress) field.ErrorList {
	errs := rules.Items(path, len(list), 1, 100)
	seen := make(map[v1.IPAddress]bool, len(list))
	for i, address := range rules.Within(list, 100) {
		at := path.Index(i)
		errs = append(errs, ipAddress(at, string(address))...)
		if seen[address] {
			errs = append(errs, field.Duplicate(at.Field(), string(address)))
		}
		seen[address] = true
	}
	return errs
}

func ipAddress(path rules.Path, value string) field.ErrorList {
	errs := rules.Text(path, value, 0, 45)
	addr, ok := parseIP(value)
	if !ok {
		return append(errs, field.Invalid(path.Field(), value, notAnAddress(value)))
	}
	if addr.IsLoopback() || addr.IsUnspecified() || addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast() {
		errs = append(errs, field.Invalid(path.Field(), value, "loopback, unspecified, link-local and multicast link-local addresses are not allowed"))
	}
	if reserved4.Contains(addr) || multicast6.Contains(addr) {
		errs = append(errs, field.Invalid(path.Field(), value, "multicast and reserved addresses are not allowed"))
	}
	if addr.String() != value {
		errs = append(errs, field.Invalid(path.Field(), value, "must be in canonical form, which is "+addr.String()))
	}
	return errs
}

// parseIP reads an address as CEL's ip library does (k8s.io/apiserver, pkg/cel/library/ip.go):
// no leading zeros, no zone, and no IPv4-mapped IPv6, which would pass every check for IPv6 and
// then be dialed as IPv4.
func parseIP(value string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(value)
	return addr, err == nil && addr.Zone() == "" && !addr.Is4In6()
}

// mostly is a regular expression that nearly every text matches in a plain way: to see that costs a
// twentieth. Whatever is not plain, the expression decides.
type mostly struct {
	plain func(text string) bool
	*regexp.Regexp
}

func (m mostly) MatchString(text string) bool { return m.plain(text) || m.Regexp.MatchString(text) }

// plain reports whether there are only lower-case letters and digits, with hyphens between them: surely a match
// of labelPattern.
func plain(text string) bool {
	for i := range len(text) {
		b := text[i]
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && (b != '-' || i == 0 || i == len(text)-1) {
			return false
		}
	}
	return text != ""
}

// plainName reports whether there are such labels, with dots between them: surely a match of dnsPattern.
func plainName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 63 || !plain(label) {
			return false
		}
	}
	return true
}
