// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/cmd/fairlead/inspect"
)

// What --check of publish may be.
const (
	checkTCP   = "tcp"
	checkHTTP  = "http"
	checkHTTPS = "https"
	checkGRPC  = "grpc"
	checkNone  = "none"
)

var publishChecks = []string{checkTCP, checkHTTP, checkHTTPS, checkGRPC, checkNone}

// What --patroni and --redis are in the place of --check.
const (
	checkPatroni = "patroni"
	checkRedis   = "redis"
)

// patroniPort is that of the REST API of Patroni.
const patroniPort = 8008

// memberInterval is how often a member is checked, whatever its role: a replica that is promoted must be found soon.
const memberInterval = 2 * time.Second

// publishFlags are those of the command.
type publishFlags struct {
	outputFlags
	name, namespace, check, path, patroni, redis, secret string
}

func publishCommand(o Options) *cobra.Command {
	f := publishFlags{check: checkTCP, outputFlags: newOutputFlags(inspectYAML, inspectJSON, inspectName)}
	command := &cobra.Command{
		Use:   "publish HOST:PORT...",
		Short: "Print the manifest of an ExternalService for addresses outside the cluster.",
		Long: `Print the manifest of an ExternalService for addresses outside the cluster. The command sends nothing: pipe the output
to kubectl apply, or put it into Git.

Each HOST is a DNS name or an address. The first PORT is that of the Service. Each further HOST is a standby of those
before it, unless --check is none. The output passes fairlead vet.

--patroni and --redis name the members of one database. Members without a port get the port of the last one. The
ExternalService publishes the member that reports to be the primary, and failback is Manual.

Exit code 0: the manifest is printed. 2: the command line is wrong.`,
		Example: strings.ReplaceAll(`  fairlead publish db.example.com:5432 | kubectl apply -f -
  fairlead publish 192.0.2.10:5432 192.0.2.20:5432 --name=billing-db -n shop
  fairlead publish api.example.com:443 --check=https --path=/healthz
  fairlead publish --patroni=db1.example.com,db2.example.com,db3.example.com:5432 --name=orders-db
  fairlead publish --redis=192.0.2.30,192.0.2.31:6379 --redis-secret=redis --name=sessions`, "fairlead publish", o.Program+" publish"),
		RunE: func(command *cobra.Command, args []string) error {
			if err := f.run(command, args); err != nil {
				return &exit{exitUnread, fmt.Errorf("publish: %w; `%s publish --help` has examples", err, o.Program)}
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	set := command.Flags()
	set.StringVar(&f.name, "name", "", "Name of the ExternalService and its Service. Empty: the first label of the first DNS name, with - for _.")
	set.StringVarP(&f.namespace, "namespace", "n", "", "Namespace in the manifest. Empty: none, so that kubectl apply decides.")
	set.StringVar(&f.check, "check", f.check, "Health check. One of: "+strings.Join(publishChecks, ", ")+".")
	set.StringVar(&f.path, "path", "", "Path of a check by http or https. Empty: /.")
	set.StringVar(&f.patroni, "patroni", "", "Members of PostgreSQL under Patroni, as HOST,HOST:PORT. Each is asked for /primary at its port 8008.")
	set.StringVar(&f.redis, "redis", "", "Members of Redis, as HOST,HOST:PORT. Each is asked for its ROLE.")
	set.StringVar(&f.secret, "redis-secret", "", "Secret with the key password, for AUTH before ROLE. Empty: no AUTH.")
	f.addOutput(command)
	complete(command, "check", publishChecks...)
	return command
}

// run prints the manifest, unless vet would refuse it.
func (f *publishFlags) run(command *cobra.Command, args []string) error {
	if f.patroni != "" || f.redis != "" {
		if len(args) > 0 || f.patroni != "" && f.redis != "" || command.Flags().Changed("check") {
			return errors.New("give one of HOST:PORT, --patroni and --redis, and --check with the first alone")
		}
		f.check, args = checkPatroni, members(f.patroni)
		if f.redis != "" {
			f.check, args = checkRedis, members(f.redis)
		}
	}
	switch {
	case f.secret != "" && f.check != checkRedis:
		return errors.New("--redis-secret is for --redis")
	case len(args) == 0:
		return errors.New("give HOST:PORT, such as db.example.com:5432")
	case !f.hasMembers() && !slices.Contains(publishChecks, f.check):
		return fmt.Errorf("--check %q: must be one of %s", f.check, strings.Join(publishChecks, ", "))
	case f.path != "" && f.check != checkHTTP && f.check != checkHTTPS:
		return fmt.Errorf("--path is for --check=http or https, and not for %s", f.check)
	}
	if err := f.checkOutput(); err != nil {
		return err
	}
	service, err := f.service(args)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(service)
	if err != nil {
		return err
	}
	if wrong := vetted(command.Context())(raw); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	if f.format == inspectName {
		_, err := fmt.Fprintf(command.OutOrStdout(), "%s/%s\n", inspect.NameOf(inspect.ExternalService), service.Name)
		return err
	}
	return f.manifest(command.OutOrStdout(), raw)
}

// manifest writes the manifest without what an object has only once it is stored.
func (f *publishFlags) manifest(to io.Writer, raw []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	delete(fields, "status")
	if metadata, is := fields["metadata"].(map[string]any); is {
		delete(metadata, "creationTimestamp")
	}
	return f.write(to, fields)
}

// service returns the ExternalService of some HOST:PORT.
func (f *publishFlags) service(args []string) (*networkingv1.ExternalService, error) {
	s := &networkingv1.ExternalService{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.GroupVersion.String(), Kind: inspect.ExternalService},
		ObjectMeta: metav1.ObjectMeta{Name: f.name, Namespace: f.namespace},
	}
	s.Spec.HealthCheck = f.healthCheck()
	if f.hasMembers() {
		s.Spec.Failover = &networkingv1.Failover{Failback: ptr.To(networkingv1.FailbackManual)}
	}
	for i, argument := range args {
		if !plainAddress.MatchString(argument) {
			return nil, fmt.Errorf("argument %d is not HOST:PORT, such as db.example.com:5432: leave out the scheme, user, password and path", i+1)
		}
		endpoint, port, err := endpointOf(argument)
		if err != nil {
			return nil, err
		}
		endpoint.Name = f.endpointName(i)
		if i == 0 {
			s.Spec.Ports = []networkingv1.ServicePort{{Name: f.portName(), Port: port}}
		} else {
			if port != s.Spec.Ports[0].Port {
				endpoint.Ports = []networkingv1.EndpointPort{{Name: s.Spec.Ports[0].Name, Port: port}}
			}
			if s.Spec.HealthCheck != nil {
				endpoint.Priority = ptr.To(int32(i))
			}
		}
		s.Spec.Endpoints = append(s.Spec.Endpoints, *endpoint)
		if s.Name == "" && endpoint.DNS != nil {
			s.Name = serviceName(endpoint.DNS.Name)
		}
	}
	if s.Name == "" {
		return nil, errors.New("give the Service a name with --name: none can be derived from an address, or from a label such as 1db")
	}
	return s, nil
}

// hasMembers reports whether the endpoints are members of a database, each a possible primary.
func (f *publishFlags) hasMembers() bool { return f.patroni != "" || f.redis != "" }

// members returns HOST:PORT of each member in a list, with the port of the last where one has none.
func members(list string) []string {
	all := strings.Split(list, ",")
	_, port, err := net.SplitHostPort(all[len(all)-1])
	if err != nil {
		return all // whose reader says what is wrong
	}
	for i, member := range all {
		if _, _, err := net.SplitHostPort(member); err != nil {
			all[i] = member + ":" + port
		}
	}
	return all
}

func (f *publishFlags) endpointName(i int) string {
	switch {
	case f.hasMembers():
		return "member-" + strconv.Itoa(i)
	case i == 0:
		return "primary"
	default:
		return "standby-" + strconv.Itoa(i)
	}
}

// serviceName returns the first label of a DNS name as the name of a Service, or "" where it cannot be one. A label of DNS
// may have an underscore, unlike a Service.
func serviceName(host string) string {
	label, _, _ := strings.Cut(host, ".")
	label = strings.Trim(strings.ReplaceAll(label, "_", "-"), "-")
	if len(validation.IsDNS1035Label(label)) > 0 {
		return ""
	}
	return label
}

// plainAddress has the characters of HOST:PORT. Anything else may be a connection string, whose password no message may repeat.
var plainAddress = regexp.MustCompile(`^[\pL\pN.:_*\[\]-]+$`)

// endpointOf reads HOST:PORT.
func endpointOf(argument string) (*networkingv1.Endpoint, int32, error) {
	host, text, err := net.SplitHostPort(argument)
	if err != nil {
		return nil, 0, fmt.Errorf("%q is not HOST:PORT, such as db.example.com:5432 or [2001:db8::1]:5432", argument)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return nil, 0, fmt.Errorf("%q: the port must be a number from 1 to 65535", argument)
	}
	endpoint := &networkingv1.Endpoint{DNS: &networkingv1.DNSName{Name: strings.ToLower(strings.TrimSuffix(host, "."))}}
	if address, err := netip.ParseAddr(host); err == nil {
		endpoint.DNS, endpoint.Addresses = nil, []networkingv1.IPAddress{networkingv1.IPAddress(address.String())}
	}
	return endpoint, int32(port), nil
}

// portName is the name of the port of the Service, by what is known of its protocol.
func (f *publishFlags) portName() string {
	switch f.check {
	case checkNone:
		return checkTCP
	case checkPatroni:
		return "postgres"
	default:
		return f.check
	}
}

// healthCheck returns what --check names; nil for none.
func (f *publishFlags) healthCheck() *networkingv1.HealthCheck {
	h := &networkingv1.HealthCheck{}
	switch f.check {
	case checkTCP:
		h.TCPSocket = &common.TCPSocketAction{}
	case checkGRPC:
		h.GRPC = &common.GRPCAction{}
	case checkNone:
		return nil
	case checkPatroni:
		h.HTTPGet = &common.HTTPGetAction{Port: ptr.To(intstr.FromInt32(patroniPort)), Path: ptr.To("/primary")}
	case checkRedis:
		h.TCPSocket = &common.TCPSocketAction{Steps: redisSteps(f.secret)}
	default:
		h.HTTPGet = &common.HTTPGetAction{}
		if f.path != "" {
			h.HTTPGet.Path = &f.path
		}
		if f.check == checkHTTPS {
			h.HTTPGet.Scheme = ptr.To(common.SchemeHTTPS)
		}
	}
	if f.hasMembers() {
		h.Interval, h.UnhealthyInterval = ptr.To(common.DurationOf(memberInterval)), ptr.To(common.DurationOf(memberInterval))
	}
	return h
}

// redisSteps succeed at a master, with the key password of a Secret unless that is "".
func redisSteps(secret string) []common.TCPStep {
	role := common.TCPStep{Send: `ROLE\r\n`, Expect: "master"}
	if secret == "" {
		return []common.TCPStep{role}
	}
	return []common.TCPStep{{SendFrom: &common.SendSource{
		Prefix: "AUTH ", SecretKeyRef: common.SecretKeyReference{Name: secret, Key: "password"}, Suffix: `\r\n`,
	}, Expect: "+OK"}, role}
}
