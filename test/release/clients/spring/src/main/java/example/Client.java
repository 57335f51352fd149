package example;

import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.security.oauth2.client.AuthorizedClientServiceOAuth2AuthorizedClientManager;
import org.springframework.security.oauth2.client.OAuth2AuthorizeRequest;
import org.springframework.security.oauth2.client.OAuth2AuthorizedClientService;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.web.client.RestClient;

/** Gets a token for a key, and calls a backend with it. The client is configured as Spring documents it, by properties. */
@SpringBootApplication
class Client {
  public static void main(String[] arguments) {
    SpringApplication.run(Client.class, arguments);
  }

  @Bean
  CommandLineRunner job(ClientRegistrationRepository registrations, OAuth2AuthorizedClientService clients) {
    var manager = new AuthorizedClientServiceOAuth2AuthorizedClientManager(registrations, clients);
    var request = OAuth2AuthorizeRequest.withClientRegistrationId("gateway").principal("job").build();
    return arguments -> {
      var token = manager.authorize(request).getAccessToken().getTokenValue();
      var answer = RestClient.create().get().uri(System.getenv("BACKEND"))
          .headers(headers -> headers.setBearerAuth(token)).retrieve().body(String.class);
      System.out.println(answer);
    };
  }
}
